"""Rules for object classes, chosen and weighed together: `joint.py` is the way in.   [docs/scenes.md]"""
