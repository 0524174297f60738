"""How are results shown in a browser? As one file with its style and scripts inside, no network."""
