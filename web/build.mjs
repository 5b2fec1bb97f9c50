// Bundles the viewer into the Python package: viewer.js and viewer.css, which every report carries inside.
import { build } from "esbuild";

const target = process.argv[2] ?? "../python/lasthop/report";

await build({
  entryPoints: { viewer: "src/main.ts" },
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  legalComments: "inline",
  outdir: target,
  logLevel: "warning",
});
