# lasthop in a container: docker build -t lasthop . && docker run --rm lasthop run quickstart
# Real time needs namespaces and TUN devices of the host: docker run --rm --privileged lasthop live quickstart
FROM node:20-bookworm-slim AS pages
WORKDIR /source/web
COPY web/package.json web/package-lock.json ./
RUN npm ci
COPY web ./
RUN node build.mjs /pages

FROM rust:1.91-bookworm AS wheel
RUN apt-get update && apt-get install --yes --no-install-recommends python3-pip && rm -rf /var/lib/apt/lists/*
RUN pip install --break-system-packages --no-cache-dir "maturin>=1.12,<2"
WORKDIR /source
COPY . .
COPY --from=pages /pages python/lasthop
RUN maturin build --release --locked --out /wheels

FROM python:3.11-slim-bookworm
RUN apt-get update && apt-get install --yes --no-install-recommends iproute2 && rm -rf /var/lib/apt/lists/*
RUN --mount=type=bind,from=wheel,source=/wheels,target=/wheels \
    pip install --no-cache-dir "$(ls /wheels/*.whl)[serve]"
WORKDIR /work
ENTRYPOINT ["lasthop"]
CMD ["--help"]
