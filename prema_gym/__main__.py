"""`python -m prema_gym …` is `prema-gym …`, where the command is not on the path."""

from prema_gym.cli import main

if __name__ == "__main__":
    main()
