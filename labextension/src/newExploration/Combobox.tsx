/**
 * A text field with suggestions: arrow keys choose one, Enter accepts it, Escape closes the list. Other text is allowed.
 */
import * as React from 'react';

interface ICombobox {
  id: string;
  value: string;
  onChange: (value: string) => void;
  /** The suggestions for the field's value. */
  suggestions: readonly string[];
  /** Return the value after a suggestion was accepted. */
  accept: (suggestion: string) => string;
  /** What the list contains, for screen readers. */
  listLabel: string;
  placeholder?: string;
  invalid?: boolean;
  describedBy?: string;
  onFocus?: () => void;
  inputRef?: React.Ref<HTMLInputElement>;
}

export function Combobox(props: ICombobox): React.JSX.Element {
  const { id, value, suggestions } = props;
  const [open, setOpen] = React.useState(false);
  const [active, setActive] = React.useState(-1);
  const shown = open && suggestions.length > 0;
  const change = (text: string) => {
    props.onChange(text);
    setActive(-1);
    setOpen(true);
  };
  const accept = (suggestion: string) => {
    change(props.accept(suggestion));
    setOpen(false);
  };
  const move = (by: number) => {
    const count = suggestions.length;
    setOpen(true);
    const next = by > 0 ? active + 1 : active < 0 ? count - 1 : active - 1;
    setActive((next + count) % count);
  };
  const press = (event: React.KeyboardEvent) => {
    const moves: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in moves && suggestions.length) {
      event.preventDefault();
      move(moves[event.key]);
    } else if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) {
      event.preventDefault(); // a single field must not submit the form
      if (shown && active >= 0) {
        accept(suggestions[active]);
      }
    } else if (event.key === 'Escape' && shown) {
      event.stopPropagation();
      setOpen(false);
    }
  };
  return (
    <div className="jp-Explora-combobox">
      <input
        id={id}
        ref={props.inputRef}
        className="jp-Explora-input"
        role="combobox"
        autoComplete="off"
        spellCheck={false}
        aria-autocomplete="list"
        aria-expanded={shown}
        aria-controls={shown ? `${id}-list` : undefined}
        aria-activedescendant={
          shown && active >= 0 ? `${id}-${active}` : undefined
        }
        aria-invalid={props.invalid || undefined}
        aria-describedby={props.describedBy}
        placeholder={props.placeholder}
        value={value}
        onChange={event => change(event.target.value)}
        onKeyDown={press}
        onFocus={props.onFocus}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
      />
      {shown && (
        <ul
          id={`${id}-list`}
          className="jp-Explora-options"
          role="listbox"
          aria-label={props.listLabel}
        >
          {suggestions.map((suggestion, index) => (
            <li
              key={suggestion}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              className={index === active ? 'jp-mod-active' : ''}
              onMouseDown={event => event.preventDefault()} // keeps the focus in the field
              onClick={() => accept(suggestion)}
            >
              {suggestion}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
