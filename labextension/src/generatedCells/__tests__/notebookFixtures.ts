import { YNotebook } from '@jupyter/ydoc';
import type { PartialJSONObject } from '@lumino/coreutils';

import type { CellChange } from '../../messages';
import { sourceHash } from '../generatedCell';

export const CALLER = 'caller';

export interface ICellOptions {
  run?: string;
  role?: string;
  source?: string;
  outputs?: PartialJSONObject[];
  mark?: PartialJSONObject;
  metadata?: PartialJSONObject;
}

/** A notebook of the user's own: a cell above, the calling cell, a cell below. */
export function notebook(): YNotebook {
  const made = YNotebook.create({ disableDocumentWideUndoRedo: true });
  made.insertCells(
    0,
    ['above', CALLER, 'below'].map(id => ({
      cell_type: 'code',
      id,
      source: id === CALLER ? '%%explora statistics\ntask' : id,
      metadata: { trusted: true }
    }))
  );
  made.clearUndoHistory();
  return made;
}

/** A generated cell as the kernel sends it. */
export function generated(
  id: string,
  options: ICellOptions = {}
): NonNullable<CellChange['cell']> {
  const role = options.role ?? 'candidate';
  const source =
    options.source ?? (role === 'candidate' ? `%%explored ${id}\n1` : id);
  const code = role === 'candidate' || role === 'solution';
  return {
    id,
    cell_type: code ? 'code' : 'markdown',
    source,
    metadata: {
      ...options.metadata,
      exploracoder_jupyter: {
        run_id: options.run ?? 'r1',
        role,
        ...options.mark,
        source_hash: sourceHash(source)
      },
      ...(role === 'candidate' ? { tags: ['explora-candidate'] } : {})
    },
    ...(code ? { outputs: options.outputs ?? [], execution_count: null } : {})
  } as NonNullable<CellChange['cell']>;
}

export function insert(
  id: string,
  after: string | null = CALLER,
  options: ICellOptions = {}
): CellChange {
  return { action: 'insert', id, after, cell: generated(id, options) };
}

export function replace(
  id: string,
  after: string | null = CALLER,
  options: ICellOptions = {}
): CellChange {
  return { ...insert(id, after, options), action: 'replace' };
}

export function remove(id: string): CellChange {
  return { action: 'remove', id, after: null, cell: null };
}

export function ids(made: YNotebook): string[] {
  return made.cells.map(cell => cell.getId());
}

export function cell(made: YNotebook, id: string) {
  const found = made.cells.find(other => other.getId() === id);
  if (!found) {
    throw new Error(`There is no cell ${id}.`);
  }
  return found;
}

export function indexOf(made: YNotebook, id: string): number {
  return ids(made).indexOf(id);
}
