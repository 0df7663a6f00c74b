/** The page's state of one run's cells between the kernel's messages. */
import type { PartialJSONValue } from '@lumino/coreutils';

import { MessageSequencer } from '../explorations/messageSequencer';
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

  /** The engine's id of the run, known from its first cell. */
  runId = '';

  /** Whether the cells of the calling cell's earlier runs have been removed. */
  earlierRemoved = false;

  /** The cells of those runs, by which the undo of their removal is recognized. */
  readonly replaced = new Set<string>();

  /** Whether the page has received all cells of the run after its end. */
  complete = false;

  /** Whether the user has removed the run or another run has replaced it. Its changes are then ignored. */
  dismissed = false;

  /** Cells that the user has deleted. They are not inserted again. */
  readonly deleted = new Set<string>();

  /**
   * Cells that the user has moved. New cells are not placed after them while others are still in their original place.
   */
  readonly moved = new Set<string>();

  /** The collapsed state last set by the extension for each cell, to detect changes by the user. */
  readonly folds = new Map<string, PartialJSONValue>();

  /** Whether the extension last collapsed each heading, to detect changes by the user. */
  readonly collapsed = new Map<string, boolean>();
}
