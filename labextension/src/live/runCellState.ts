/** What the page remembers of one run's cells, between the kernel's messages. */
import type { PartialJSONValue } from '@lumino/coreutils';

import { MessageSequencer } from './messageSequencer';
import { CellOrder } from './cellOrder';

export class RunCellState {
  /**
   * @param key - the kernel's name for the run
   * @param caller - id of the calling cell
   */
  constructor(
    readonly key: string,
    readonly caller: string
  ) {
    this.order = new CellOrder(caller);
  }

  readonly order: CellOrder;
  readonly sequencer = new MessageSequencer();

  /** The engine's name for the run, known from its first cell. */
  runId = '';

  /** The cells of earlier runs of the calling cell have made room. */
  earlierRemoved = false;

  /** The page has had all cells of the run after its end. */
  complete = false;

  /** The user has removed the run from the notebook, or another has taken its place: nothing of it comes back. */
  dismissed = false;

  /** Cells that the user has deleted: they do not come back. */
  readonly deleted = new Set<string>();

  /** Cells that the user has moved: others do not follow them, as long as some are where they were put. */
  readonly moved = new Set<string>();

  /** How each cell was folded by us, to tell when the user has folded it otherwise. */
  readonly folds = new Map<string, PartialJSONValue>();
}
