/** The messages of one run in the order in which they were sent, each once. */
import type { CellChange, CellsMessage } from '../messages';

export class MessageSequencer {
  /** Whether messages are missing: those that came after them are held back until a snapshot tells. */
  get hasGap(): boolean {
    return this._buffer.length > 0;
  }

  /** Take a message; the changes that are due now. */
  push(message: CellsMessage): CellChange[] {
    if (message.seq > this._lastSeq) {
      this._buffer.push(message);
    }
    return this._takeReady();
  }

  /**
   * A snapshot contains all up to `seq`; the changes that are due after it. `null`: the snapshot is older than what was
   * applied already.
   */
  skipTo(seq: number): CellChange[] | null {
    if (seq < this._lastSeq) {
      return null;
    }
    this._lastSeq = seq;
    this._buffer = this._buffer.filter(message => message.seq > seq);
    return this._takeReady();
  }

  private _takeReady(): CellChange[] {
    const changes: CellChange[] = [];
    for (;;) {
      const at = this._buffer.findIndex(({ seq }) => seq === this._lastSeq + 1);
      if (at === -1) {
        return changes;
      }
      changes.push(...this._buffer[at].changes);
      this._buffer.splice(at, 1);
      this._lastSeq += 1;
    }
  }

  private _lastSeq = 0;
  private _buffer: CellsMessage[] = [];
}
