/** The keys that move between the columns of a board. */

/** The index of the column to focus, or `null` if the key does not move the focus. */
export function columnOfKey(
  key: string,
  index: number,
  count: number
): number | null {
  switch (key) {
    case 'ArrowRight':
      return Math.min(index + 1, count - 1);
    case 'ArrowLeft':
      return Math.max(index - 1, 0);
    case 'Home':
      return 0;
    case 'End':
      return count - 1;
    default:
      return null;
  }
}
