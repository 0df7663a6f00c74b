/** The messages of one run in the order in which they were sent, each once. */
import type { CellChange, CellsMessage } from '../messages';

export class Feed {
  /** Whether messages are missing: those that came after them are held back until a snapshot tells. */
  get gap(): boolean {
    return this._held.length > 0;
  }

  /** Take a message; the changes that are due now. */
  take(message: CellsMessage): CellChange[] {
    if (message.seq > this._seq) {
      this._held.push(message);
    }
    return this._due();
  }

  /**
   * A snapshot contains all up to `seq`; the changes that are due after it. `null`: the snapshot is older than what was
   * applied already.
   */
  skipTo(seq: number): CellChange[] | null {
    if (seq < this._seq) {
      return null;
    }
    this._seq = seq;
    this._held = this._held.filter(message => message.seq > seq);
    return this._due();
  }

  private _due(): CellChange[] {
    const changes: CellChange[] = [];
    for (;;) {
      const at = this._held.findIndex(({ seq }) => seq === this._seq + 1);
      if (at === -1) {
        return changes;
      }
      changes.push(...this._held[at].changes);
      this._held.splice(at, 1);
      this._seq += 1;
    }
  }

  private _seq = 0;
  private _held: CellsMessage[] = [];
}
