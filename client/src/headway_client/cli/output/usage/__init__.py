"""How are ended jobs and sums of usage shown: as tables, and as the page of a month?"""
