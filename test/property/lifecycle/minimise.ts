/** Takes parts out of a failing list for as long as it still fails: first large ones, then single ones. */
export async function minimise<T>(
  list: readonly T[],
  fails: (list: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let left = list;
  for (let size = Math.ceil(left.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let again = true; again;) {
      again = false;
      for (let at = left.length - size; at >= 0; at--) {
        const shorter = left.toSpliced(at, size);
        if (!(await fails(shorter))) continue;
        left = shorter;
        again = size === 1;
        at = Math.min(at, left.length - size + 1);
      }
    }
  }
  return left;
}
