"""A feed whose topics carry records of several registry subjects: one format over all of them.

What a subject's schemas mean is the business of the format of its language, which plans and decodes
each subject by itself.
"""
