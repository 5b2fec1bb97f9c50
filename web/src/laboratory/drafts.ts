// Unsaved input, kept in the browser: nothing is lost with the page or the server.

const PREFIX = "lasthop/";

export function kept(name: string): string | null {
  return localStorage.getItem(PREFIX + name);
}

export function keep(name: string, text: string): void {
  localStorage.setItem(PREFIX + name, text);
}

export function forget(name: string): void {
  localStorage.removeItem(PREFIX + name);
}
