"""The operations of programs: facts about their results, and their text."""
