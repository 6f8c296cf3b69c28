package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// line is one line of a file. Exactly one field is set.
type line struct {
	History   *History   `json:"history,omitempty"`
	Operation *Operation `json:"operation,omitempty"`
	Hold      *Hold      `json:"hold,omitempty"`
	Write     *Write     `json:"write,omitempty"`
	View      *View      `json:"view,omitempty"`
	Session   *Session   `json:"session,omitempty"`
	Fault     *Fault     `json:"fault,omitempty"`
	Final     *Final     `json:"final,omitempty"`
	Numbered  *Numbered  `json:"numbered,omitempty"`

	Request *Request      `json:"request,omitempty"`
	Target  *Target       `json:"target,omitempty"`
	Rollout *RolloutFinal `json:"rollout,omitempty"`

	Call     *ProcessCall   `json:"call,omitempty"`
	Exchange *Exchange      `json:"exchange,omitempty"`
	Change   *ProcessChange `json:"change,omitempty"`
	Process  *ProcessFinal  `json:"process,omitempty"`
}

// Save writes the history as lines of JSON: the title first, then one line per record.
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
	putAll(put, h.Numbered, func(x *Numbered) line { return line{Numbered: x} })
	putAll(put, h.Requests, func(r *Request) line { return line{Request: r} })
	putAll(put, h.Targets, func(t *Target) line { return line{Target: t} })
	putAll(put, h.Rollouts, func(f *RolloutFinal) line { return line{Rollout: f} })
	putAll(put, h.Calls, func(c *ProcessCall) line { return line{Call: c} })
	putAll(put, h.Exchanges, func(x *Exchange) line { return line{Exchange: x} })
	putAll(put, h.Changes, func(c *ProcessChange) line { return line{Change: c} })
	putAll(put, h.Processes, func(f *ProcessFinal) line { return line{Process: f} })
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("history: save: %w", err)
	}
	return nil
}

// putAll writes one line per list item.
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

// Load reads a history written by Save.
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
		if !h.add(&l) {
			return nil, fmt.Errorf("history: load: line %d has nothing that is known here", n)
		}
	}
}

// add adds the content of a line, and reports whether the line had content.
func (h *History) add(l *line) bool {
	if l.History != nil {
		h.Title, h.Grace, h.Notes, h.Restored = l.History.Title, l.History.Grace, l.History.Notes, l.History.Restored
		h.Recoveries = l.History.Recoveries
		return true
	}
	return addTo(&h.Operations, l.Operation) || addTo(&h.Holds, l.Hold) || addTo(&h.Writes, l.Write) ||
		addTo(&h.Views, l.View) || addTo(&h.Sessions, l.Session) || addTo(&h.Faults, l.Fault) ||
		addTo(&h.Finals, l.Final) || addTo(&h.Numbered, l.Numbered) || addTo(&h.Requests, l.Request) ||
		addTo(&h.Targets, l.Target) || addTo(&h.Rollouts, l.Rollout) || addTo(&h.Calls, l.Call) ||
		addTo(&h.Exchanges, l.Exchange) || addTo(&h.Changes, l.Change) || addTo(&h.Processes, l.Process)
}

// addTo appends x to the list, if x is not nil.
func addTo[T any](list *[]T, x *T) bool {
	if x != nil {
		*list = append(*list, *x)
	}
	return x != nil
}

// LoadFile reads a file written by SaveFile.
func LoadFile(path string) (*History, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("history: load: %w", err)
	}
	defer f.Close()
	return Load(f)
}
