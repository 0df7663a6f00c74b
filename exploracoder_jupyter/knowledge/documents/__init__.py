"""Documentation that is not part of a package: files, folders and archives, parsed into APIs and passages.

`readers` contains one small module per format. `document_files` reads files within limits, `reading_process` limits the
time for each, `document_loader` combines the pages, and `api_assignment` decides which library an API belongs to.
"""
