"""Documentation that is not part of a package: files, folders and archives, parsed into APIs and passages.

`text_readers` and `markup_readers` read the formats. `document_files` reads files within limits, `reading_process`
limits the time for each, `document_source` combines the pages, and `documents` decides which library an API belongs
to.
"""
