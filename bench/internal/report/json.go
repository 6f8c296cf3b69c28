package report

import (
	"encoding/json"
	"io"
)

// JSON writes a report for programs, with every run's result.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
