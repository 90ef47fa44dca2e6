"""`python -m flgp` is the command `flgp`."""

from .cli import main

if __name__ == "__main__":
    main()
