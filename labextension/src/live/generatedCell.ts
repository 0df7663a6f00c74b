/**
 * The mark that a generated cell carries in its metadata: whose it is, what it is, and whether its source is still as
 * it was generated. A cell that a person has edited is that person's.
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

/** What generated cells say of themselves, as far as the page looks at it. */
export interface IMark {
  run_id: string;
  role: string;
  /** Id of the calling cell. */
  caller?: string;
  subtask?: string;
  candidate?: string;
  round?: number;
  status?: string;
  selected?: boolean;
  seconds?: number;
  source_hash?: string;
}

/** Whatever has metadata to read: a shared cell, or a cell's model. */
export interface IMetadataReader {
  getMetadata(key: string): unknown;
}

/** The mark of a generated cell, of this run when one is named. */
export function markOf(cell: IMetadataReader, runId?: string): IMark | null {
  const found = cell.getMetadata(NAMESPACE) as Partial<IMark> | undefined;
  if (typeof found?.role !== 'string' || typeof found.run_id !== 'string') {
    return null;
  }
  return runId === undefined || found.run_id === runId
    ? (found as IMark)
    : null;
}

/** Sixteen hexadecimal digits by which an edited cell is told from an untouched one. */
export function sourceHash(source: string): string {
  const bytes = new TextEncoder().encode(source);
  return bytesToHex(blake2b(bytes, { dkLen: 8 }));
}

/** Whether a person has changed the source of a generated cell. */
export function isEdited(cell: ISharedCell): boolean {
  const mark = markOf(cell);
  return mark !== null && mark.source_hash !== cachedHash(cell);
}

/** All badges ask at each news of a run, and sources seldom change. */
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

/** Whether the user has copied the cell from a generated one: the mark came along, the id did not. */
export function isCopy(cell: ISharedCell): boolean {
  return !cell.getId().startsWith('explora-');
}

/** Whether the user has run the cell, which is for solutions only. */
export function hasBeenRun(cell: ISharedCell): boolean {
  return (
    markOf(cell)?.role === 'solution' &&
    typeof (cell as Partial<ISharedCodeCell>).execution_count === 'number'
  );
}

/** The tags that are not ours. */
export function userTags(tags: unknown): string[] {
  return Array.isArray(tags)
    ? tags.filter(tag => typeof tag === 'string' && !GENERATED_TAGS.has(tag))
    : [];
}

/** Make a generated cell an ordinary one: without our mark, our tags and what we have folded. */
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

/** The first line that keeps a recorded candidate from being run. */
const GUARD_PATTERN = /^%%explored\b.*(\n|$)/;

/** Whether the cell is a recorded candidate that must not be run here. */
export function isGuarded(cell: ISharedCell): boolean {
  return (
    markOf(cell)?.role === 'candidate' && GUARD_PATTERN.test(cell.getSource())
  );
}

/** Make a generated cell that a person has edited, or that is to stay, that person's own. */
export function releaseCell(cell: ISharedCell): void {
  if (markOf(cell)?.role === 'candidate') {
    makeRunnable(cell);
  } else {
    clearMark(cell);
  }
}

/** Make a recorded candidate a cell that the user can run. What was recorded of other code does not stay. */
export function makeRunnable(cell: ISharedCell): void {
  const source = cell.getSource();
  if (isEdited(cell) && cell.cell_type === 'code') {
    (cell as ISharedCodeCell).setOutputs([]);
  }
  clearMark(cell);
  cell.setSource(source.replace(GUARD_PATTERN, ''));
}
