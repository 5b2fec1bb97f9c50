// An order that was refused, with what is wrong and the remedy.

/** An error, its position, and the remedy. */
export interface Fault {
  message: string;
  help: string | null;
  line?: number | null;
  key?: string | null;
}

/** A request that was refused, or not answered. */
export class Refused extends Error {
  constructor(readonly fault: Fault) {
    super(fault.message);
  }
}
