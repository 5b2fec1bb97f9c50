// How the pages are bundled.
import sveltePlugin from "esbuild-svelte";

export const common = {
  bundle: true,
  format: "iife",
  target: "es2022",
  minify: true,
  legalComments: "inline",
  logLevel: "warning",
};

/** The laboratory, from one entry point into a folder. */
export function laboratory(entryPoints, outdir, plugins = []) {
  return {
    ...common,
    entryPoints,
    outdir,
    mainFields: ["svelte", "browser", "module", "main"],
    conditions: ["svelte", "browser", "production"],
    plugins: [...plugins, sveltePlugin({ compilerOptions: { css: "external", runes: true } })],
  };
}
