"""The command line: a module a command, which parses options, calls the core and prints.

What a command does is in the core; `lazy_commands` lists all of them.
"""
