"""Panels as rows: functions of panel data and a width."""
