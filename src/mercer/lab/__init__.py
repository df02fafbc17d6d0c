"""The kernel lab: a page of this machine's own, on which pictures change while points move."""
