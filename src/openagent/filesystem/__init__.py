"""What many rooms do with files, done in one way: replacing one whole, locking one, opening what lies beneath a folder
and nothing else.

It stands below all other rooms, needs the standard library alone, and raises OSError: the room that asked knows what to
tell a person.
"""
