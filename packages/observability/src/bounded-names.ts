/** Lets the first `most` different names through and calls the others `other`, so that a label cannot grow without end. */
export function boundedNames(most: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.has(name)) return name;
    if (known.size >= most) return "other";
    known.add(name);
    return name;
  };
}
