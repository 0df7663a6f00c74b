/**
 * The metadata of a generated cell (its mark): its run, its role, and whether its source is unchanged. A cell that the
 * user has edited belongs to the user.
 */
import type { ISharedCell, ISharedCodeCell } from '@jupyter/ydoc';
import { blake2b } from '@noble/hashes/blake2';
import { bytesToHex } from '@noble/hashes/utils';

export const NAMESPACE = 'exploracoder_jupyter';

const GENERATED_TAGS = new Set([
  'explora-candidate',
  'explora-selected',
  'explora-solution',
  'skip-execution'
]);

/** The fields of a generated cell's metadata that the page uses. */
export interface IMark {
  run_id: string;
  role: string;
  /** Id of the calling cell. */
  caller?: string;
  subtask?: string;
  candidate?: string;
  round?: number;
  /** Id of a generated input. */
  input?: string;
  status?: string;
  selected?: boolean;
  seconds?: number;
  /** Of a solution: the variables that its task treats as given. */
  given?: string[];
  source_hash?: string;
}

/** A shared cell or a cell model. */
export interface IMetadataReader {
  getMetadata(key: string): unknown;
}

/** The mark of a generated cell, or `null`. With `runId`, only cells of that run count. */
export function markOf(cell: IMetadataReader, runId?: string): IMark | null {
  const found = cell.getMetadata(NAMESPACE) as Partial<IMark> | undefined;
  if (typeof found?.role !== 'string' || typeof found.run_id !== 'string') {
    return null;
  }
  return runId === undefined || found.run_id === runId
    ? (found as IMark)
    : null;
}

/** Hash of a source in sixteen hexadecimal digits, to detect edited cells. */
export function sourceHash(source: string): string {
  const bytes = new TextEncoder().encode(source);
  return bytesToHex(blake2b(bytes, { dkLen: 8 }));
}

/** Whether the user has changed the source of a generated cell. */
export function isEdited(cell: ISharedCell): boolean {
  const mark = markOf(cell);
  return mark !== null && mark.source_hash !== cachedHash(cell);
}

/** Caches hashes: all badges ask for them at each update of a run, and sources seldom change. */
const hashCache = new WeakMap<ISharedCell, { source: string; hash: string }>();

function cachedHash(cell: ISharedCell): string {
  const source = cell.getSource();
  const known = hashCache.get(cell);
  if (known?.source === source) {
    return known.hash;
  }
  const hash = sourceHash(source);
  hashCache.set(cell, { source, hash });
  return hash;
}

/** Whether the cell is the user's copy of a generated one: the mark is copied, the id is not. */
export function isCopy(cell: ISharedCell): boolean {
  return !cell.getId().startsWith('explora-');
}

/** Whether the user has run the cell. Only solutions can be run. */
export function hasBeenRun(cell: ISharedCell): boolean {
  return (
    markOf(cell)?.role === 'solution' &&
    typeof (cell as Partial<ISharedCodeCell>).execution_count === 'number'
  );
}

/** The tags that the extension did not set. */
export function userTags(tags: unknown): string[] {
  return Array.isArray(tags)
    ? tags.filter(tag => typeof tag === 'string' && !GENERATED_TAGS.has(tag))
    : [];
}

/** Make a generated cell an ordinary one by removing the mark, the extension's tags and the collapsed state. */
export function clearMark(cell: ISharedCell): void {
  const tags = userTags(cell.getMetadata('tags'));
  cell.deleteMetadata(NAMESPACE);
  cell.deleteMetadata('jupyter');
  if (tags.length) {
    cell.setMetadata('tags', tags);
  } else {
    cell.deleteMetadata('tags');
  }
}

/** The first line of a recorded candidate, which prevents it from being run. */
export const GUARD_PATTERN = /^%%explored\b.*(\n|$)/;

/** Whether the cell is a recorded candidate that must not be run here. */
export function isGuarded(cell: ISharedCell): boolean {
  return (
    markOf(cell)?.role === 'candidate' && GUARD_PATTERN.test(cell.getSource())
  );
}

/** Make a generated cell that the user has edited, or that is kept, an ordinary cell. */
export function releaseCell(cell: ISharedCell): void {
  if (markOf(cell)?.role === 'candidate') {
    makeRunnable(cell);
  } else {
    clearMark(cell);
  }
}

/** Make a recorded candidate a cell that the user can run. Outputs that were recorded for other code are removed. */
export function makeRunnable(cell: ISharedCell): void {
  const source = cell.getSource();
  if (isEdited(cell) && cell.cell_type === 'code') {
    (cell as ISharedCodeCell).setOutputs([]);
  }
  clearMark(cell);
  cell.setSource(source.replace(GUARD_PATTERN, ''));
}
