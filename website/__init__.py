"""The documentation site: `make docs` builds it from docs/ and from the code.

`stage` gathers the pages in build/docs, with the references written from the code; mkdocs makes build/site
of them; `links` checks what it made. The site needs no network, and asks no other host for anything.
"""
