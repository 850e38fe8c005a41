"""Training of Tyrus's policies: `slackwater train tyrus`, or ``python -m slackwater.train tyrus``.

Needs the extra ``slackwater[train]`` (numpy, cmaes, tqdm). docs/training.md tells how it works and what it made.
"""
