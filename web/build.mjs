// Bundles the pages into the Python package: viewer.js and viewer.css, which every report carries inside, and the page
// of `lasthop serve`.
import { copyFile, mkdir } from "node:fs/promises";

import { build } from "esbuild";

import { common, laboratory } from "./bundle.mjs";

const target = process.argv[2] ?? "../python/lasthop";

await build({ ...common, entryPoints: { viewer: "src/main.ts" }, outdir: `${target}/report` });

const page = `${target}/serve/page`;
await mkdir(page, { recursive: true });
await build(laboratory({ laboratory: "src/laboratory/main.ts" }, page));
for (const file of ["laboratory.html", "icon.svg"]) await copyFile(file, `${page}/${file}`);
