/** Puts the messages of one run into the order in which they were sent, without duplicates. */
import type { CellChange, CellsMessage } from '../messages';

export class MessageSequencer {
  /** Whether messages are missing. Later ones are buffered until a snapshot fills the gap. */
  get hasGap(): boolean {
    return this._buffer.length > 0;
  }

  /** Add a message. Returns the changes that can be applied now. */
  push(message: CellsMessage): CellChange[] {
    if (message.seq > this._lastSeq) {
      this._buffer.push(message);
    }
    return this._takeReady();
  }

  /**
   * Skip the messages up to `seq`, which a snapshot contains. Returns the changes that follow, or `null` if the
   * snapshot is older than what has been applied.
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
