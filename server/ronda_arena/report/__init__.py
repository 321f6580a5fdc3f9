"""Words and pictures from numbers: tables, JSON, CSV and one page of HTML.

Nothing here counts or decides: what is told comes from `summary`, which every form shares.
"""
