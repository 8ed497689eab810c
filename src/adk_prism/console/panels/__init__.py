"""The panels as rows: functions of what a film shows and of a width."""
