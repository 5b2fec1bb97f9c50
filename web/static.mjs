// Bundles the program of the static page into a folder: the laboratory, with the functions of `src/static/server.ts` in
// place of requests to a server.
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { laboratory } from "./bundle.mjs";

const folder = process.argv[2];
const inTheBrowser = {
  name: "in-the-browser",
  setup(bundle) {
    const path = fileURLToPath(new URL("src/static/server.ts", import.meta.url));
    bundle.onResolve({ filter: /^\.\/server\.ts$/ }, () => ({ path }));
  },
};

await build(laboratory({ page: "src/laboratory/main.ts" }, folder, [inTheBrowser]));
