package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// line is one line of a file: one of its fields is set.
type line struct {
	History   *History   `json:"history,omitempty"`
	Operation *Operation `json:"operation,omitempty"`
	Hold      *Hold      `json:"hold,omitempty"`
	Write     *Write     `json:"write,omitempty"`
	View      *View      `json:"view,omitempty"`
	Session   *Session   `json:"session,omitempty"`
	Fault     *Fault     `json:"fault,omitempty"`
	Final     *Final     `json:"final,omitempty"`
}

// Save writes the history as lines of JSON: its title first, then each thing that was recorded.
func (h *History) Save(w io.Writer) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	err := lines.Encode(line{History: h})
	put := func(l line) {
		if err == nil {
			err = lines.Encode(l)
		}
	}
	putAll(put, h.Faults, func(f *Fault) line { return line{Fault: f} })
	putAll(put, h.Sessions, func(s *Session) line { return line{Session: s} })
	putAll(put, h.Operations, func(o *Operation) line { return line{Operation: o} })
	putAll(put, h.Holds, func(x *Hold) line { return line{Hold: x} })
	putAll(put, h.Writes, func(w *Write) line { return line{Write: w} })
	putAll(put, h.Views, func(v *View) line { return line{View: v} })
	putAll(put, h.Finals, func(f *Final) line { return line{Final: f} })
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("history: save: %w", err)
	}
	return nil
}

// putAll puts a line for each thing of a list.
func putAll[T any](put func(line), list []T, of func(*T) line) {
	for i := range list {
		put(of(&list[i]))
	}
}

// SaveFile writes the history to a new file.
func (h *History) SaveFile(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("history: save: %w", err)
	}
	if err := h.Save(f); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// Load reads what Save has written.
func Load(r io.Reader) (*History, error) {
	h := &History{}
	lines := json.NewDecoder(bufio.NewReader(r))
	for n := 1; ; n++ {
		var l line
		switch err := lines.Decode(&l); {
		case err == io.EOF:
			return h, nil
		case err != nil:
			return nil, fmt.Errorf("history: load: line %d: %w", n, err)
		}
		switch {
		case l.History != nil:
			h.Title, h.Grace, h.Notes = l.History.Title, l.History.Grace, l.History.Notes
		case l.Operation != nil:
			h.Operations = append(h.Operations, *l.Operation)
		case l.Hold != nil:
			h.Holds = append(h.Holds, *l.Hold)
		case l.Write != nil:
			h.Writes = append(h.Writes, *l.Write)
		case l.View != nil:
			h.Views = append(h.Views, *l.View)
		case l.Session != nil:
			h.Sessions = append(h.Sessions, *l.Session)
		case l.Fault != nil:
			h.Faults = append(h.Faults, *l.Fault)
		case l.Final != nil:
			h.Finals = append(h.Finals, *l.Final)
		default:
			return nil, fmt.Errorf("history: load: line %d has nothing that is known here", n)
		}
	}
}

// LoadFile reads a file that SaveFile has written.
func LoadFile(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("history: load: %w", err)
	}
	defer f.Close()
	return Load(f)
}
