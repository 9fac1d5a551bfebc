"""Topics offloaded into folders, as files that a feed of files reads: each record once.

`plan` decides which offsets are due and what forbids it, `names` and `lines` say what a file is
called and what is in it, `reading` asks brokers, `folder` writes, `run` does one export from begin
to end. Reading files back is `sources.files`'s; which brokers there are, `services.control` knows.
"""
