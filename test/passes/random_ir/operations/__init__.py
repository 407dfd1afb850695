"""The operations that programs have: what is known of their results, and how
they are written.
"""
