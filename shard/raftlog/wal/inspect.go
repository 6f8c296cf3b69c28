package wal

import (
	"errors"
	"fmt"
	"io/fs"
)

// Report is the result of inspecting a directory.
type Report struct {
	// Damage lists the damages as DamageErrors, in segment order.
	Damage []error
}

// Visit is called with each complete record, oldest first. Visit must not keep data.
type Visit func(at Place, key Key, kind Kind, data []byte) error

// Inspect reads all segments in a directory with a log, and changes nothing. An error means that Inspect could not
// read, or comes from visit.
func Inspect(disk FS, dir string, visit Visit) (*Report, error) {
	r := new(Report)
	numbers, err := listSegments(disk, dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(numbers) == 0 {
		return &Report{Damage: []error{missing(segmentName(dir, 1))}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("wal: inspect the log: %w", err)
	}
	_ = r.damage(checkGaps(dir, numbers))
	if err := r.readAll(disk, dir, numbers, visit); err != nil {
		return nil, fmt.Errorf("wal: inspect the log: %w", err)
	}
	return r, nil
}

// damage collects a damage error, and returns any other error.
func (r *Report) damage(err error) error {
	if errors.Is(err, ErrDamaged) {
		r.Damage = append(r.Damage, err)
		return nil
	}
	return err
}

func (r *Report) readAll(disk FS, dir string, numbers []uint64, visit Visit) error {
	var memory []byte
	var last *image
	var before content
	first := uint64(0)
	for _, number := range numbers {
		m, err := readImage(disk, segmentName(dir, number), number, memory)
		if err != nil {
			last = nil
			if err := r.damage(err); err != nil {
				return err
			}
			continue
		}
		memory = m.data[:0]
		c, err := m.read(visit)
		if err := r.damage(err); err != nil {
			return err
		}
		if last != nil {
			r.compare(dir, last, m, before, c)
		}
		first, last, before = max(first, c.first), m, c
	}
	if first < numbers[0] && first > 0 {
		r.Damage = append(r.Damage, missing(segmentName(dir, first)))
	}
	if last != nil {
		_ = r.damage(last.checkChain(dir, before, nil))
	}
	return nil
}

// compare compares a segment with the previous segment.
func (r *Report) compare(dir string, last, m *image, before, c content) {
	if m.log != last.log {
		r.Damage = append(r.Damage, damagedAt(m.path, 0))
	}
	if m.number == last.number+1 {
		_ = r.damage(last.checkChain(dir, before, &c))
	}
}
