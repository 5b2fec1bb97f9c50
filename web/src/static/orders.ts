// What the page orders, as the server takes it.

import type { server } from "../laboratory/server.ts";

export type RunOrder = Parameters<typeof server.run>[0];
export type SweepOrder = Parameters<typeof server.sweep>[0];
