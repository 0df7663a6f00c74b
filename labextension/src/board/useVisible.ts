/** Renders what is expensive only when it comes into view. */
import * as React from 'react';

/** How far outside of the view something counts as visible, in pixels. */
const MARGIN = '600px';

/** Whether the element is or was in view of the scrolling element with this selector. */
export function useVisible(
  element: React.RefObject<HTMLElement>,
  scroller: string
): boolean {
  const [visible, setVisible] = React.useState(
    () => typeof IntersectionObserver === 'undefined'
  );
  React.useEffect(() => {
    const node = element.current;
    if (visible || !node) {
      return;
    }
    const observer = new IntersectionObserver(
      entries => setVisible(entries.some(entry => entry.isIntersecting)),
      { root: node.closest(scroller), rootMargin: `0px ${MARGIN}` }
    );
    observer.observe(node);
    return () => observer.disconnect();
  }, [visible]);
  return visible;
}
