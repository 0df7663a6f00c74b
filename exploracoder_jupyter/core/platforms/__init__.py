"""What differs between operating systems, behind one interface.

`system` is the module `posix` (Linux, macOS) or `windows`. Both have

- `NEW_SESSION`: options of `subprocess.Popen` for a process that no Ctrl+C in this terminal reaches;
- `OWN_LIMITS`: whether a process can limit its own memory, files and processor time;
- `ask_to_end`, `kill`, `interrupt`: for a process started with `NEW_SESSION`;
- `open_lifeline`: two descriptors, the standard input of a process and what is kept here. Nothing is written to them,
  and the end of input shows the process that this one is gone, for whatever reason;
- `try_lock`, `lock`: locks on open files, which the system releases when their process ends, however it ends;
- `split_words`, `quote`: command lines as a user of the system writes them;
- `replace`: gives a file a name that another one may have, also while somebody reads that;
- `open_run_folder`, `remove_tree`, `short_temporary_folder`: private temporary folders;
- `account_home`, `can_enter`, `open_below`: for deciding which files of the user are shown, and for copying files.

What only Linux has (forks, namespaces, Landlock, system call filters, `/proc`) is not part of it: those modules are
imported where they are used, which is never on another system.
"""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from exploracoder_jupyter.core.platforms import windows as system
else:
    from exploracoder_jupyter.core.platforms import posix as system

__all__ = ["system"]
