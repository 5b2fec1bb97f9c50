// The address of the page: `#/part/part?key=value`. The address of each page can be kept.

function read(): { parts: string[]; query: URLSearchParams } {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query ?? "") };
}

export const route = $state({ now: read() });

window.addEventListener("hashchange", () => (route.now = read()));

/** The address of a page. */
export function address(parts: string[], query: Record<string, string[]> = {}): string {
  const words = Object.entries(query).flatMap(([key, values]) =>
    values.map((value) => `${key}=${encodeURIComponent(value)}`),
  );
  return `#/${parts.map(encodeURIComponent).join("/")}${words.length ? `?${words.join("&")}` : ""}`;
}

/** Opens a page: after the present one in the browser's history, or in its place. */
export function go(parts: string[], query: Record<string, string[]> = {}, how: "after" | "replace" = "after"): void {
  if (how === "replace") location.replace(address(parts, query));
  else location.hash = address(parts, query);
}
