"""How is work shared out past one process? In shards, which any executor plays.

A shard is a piece of work whose result depends on nothing but what its key digests. So shards may
be played anywhere, in any order and twice; a file with the key as name stands for having played it.
"""
