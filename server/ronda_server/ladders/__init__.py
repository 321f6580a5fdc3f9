"""Hosted ladders: played by processes of their own, told from what these say of their logs.

`asked` is what a file says of one, `opening` takes its folder up, `hosted` keeps it played and
`drive` and `driver` play it, with remote bots `elsewhere`, as long as `attendance` has them there.
`told` is what they say, `teller` says it, `table` and `audience` keep it and pass it on, and
`messages` is the door to protobuf. What is played and what it comes to is the arena's.
"""
