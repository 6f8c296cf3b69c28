package wal

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// put makes a file hold something else.
func put(t *testing.T, fs vfs.FS, name string, data []byte) {
	t.Helper()
	file, err := fs.Create(name)
	if err == nil {
		_, err = file.Write(data)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func contentOf(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	data, err := ReadFile(fs, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// copyOf copies a log's files to a new file system.
func copyOf(t *testing.T, fs vfs.FS) roomy {
	t.Helper()
	c := newMemory()
	if err := c.MkdirAll(testDir, 0o700); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List(testDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		put(t, c, filepath.Join(testDir, name), contentOf(t, fs, filepath.Join(testDir, name)))
	}
	return c
}

// filledLog is the file system of a closed log with some segments, all needed.
func filledLog(t *testing.T, values int) (fs roomy, text string) {
	t.Helper()
	fs = newMemory()
	v := mustOpen(t, testOptions(memoryDisk(fs)))
	for i := range values {
		v.set(t, Key{1, uint64(i)}, textOfNumber(i, 2000))
	}
	if err := v.log.Close(); err != nil {
		t.Fatal(err)
	}
	return fs, v.String()
}

// openCopy opens a log on a file system, closes it and returns its content.
func openCopy(t *testing.T, fs vfs.FS) (text string, err error) {
	t.Helper()
	v, err := openValues(testOptions(memoryDisk(fs)))
	if err != nil {
		return "", err
	}
	return v.String(), v.log.Close()
}

// TestEveryBitOfARecordCounts flips each bit of a small closed log.
func TestEveryBitOfARecordCounts(t *testing.T) {
	fs := newMemory()
	v := mustOpen(t, testOptions(memoryDisk(fs)))
	for i := range 4 {
		v.set(t, Key{1, uint64(i)}, textOfNumber(i, 20*i+3))
	}
	if _, err := v.change(Key{1, 9}, kindSet, "made durable by Close"); err != nil {
		t.Fatal(err)
	}
	end := int(v.log.pending.end())
	if err := v.log.Close(); err != nil {
		t.Fatal(err)
	}
	want, name := v.String(), segmentName(testDir, 1)
	data := contentOf(t, fs, name)
	for at := range data[:end] {
		if at >= headerBytes && at < firstRecord {
			continue // nothing is there
		}
		for bit := range 8 {
			c := newMemory()
			if err := c.MkdirAll(testDir, 0o700); err != nil {
				t.Fatal(err)
			}
			bad := bytes.Clone(data)
			bad[at] ^= 1 << bit
			put(t, c, name, bad)
			text, err := openCopy(t, c)
			var damage *DamageError
			if !errors.As(err, &damage) || !errors.Is(err, ErrDamaged) || damage.File != name {
				t.Fatalf("byte %d, bit %d: it opens with %v, has\n%s, wrote\n%s", at, bit, err, text, want)
			}
			if at >= firstRecord && (damage.Offset > int64(at) || damage.Offset < firstRecord) {
				t.Fatalf("byte %d: the damage is said to be at %d", at, damage.Offset)
			}
		}
	}
}

func TestDamageIsRefusedAndNamed(t *testing.T) {
	fs, want := filledLog(t, 100)
	numbers, err := listSegments(fs, testDir)
	if err != nil || len(numbers) < 5 {
		t.Fatal(numbers, err)
	}
	name := func(i int) string { return segmentName(testDir, numbers[i]) }
	newest := len(numbers) - 1
	if imageContent(t, fs, name(newest)).empty() {
		newest--
	}
	other, _ := filledLog(t, 100)
	flip := func(name string, at int) func(roomy) {
		return func(fs roomy) {
			data := contentOf(t, fs, name)
			data[at] ^= 1
			put(t, fs, name, data)
		}
	}
	move := func(from, to string) func(roomy) {
		return func(fs roomy) { put(t, fs, to, contentOf(t, fs, from)) }
	}
	remove := func(name string) func(roomy) { return func(fs roomy) { fs.Remove(name) } }
	for _, c := range []struct {
		name    string
		damage  func(fs roomy)
		file    string
		missing bool
	}{
		{"a bit of the first segment", flip(name(0), 9000), name(0), false},
		{"a bit of a segment in the middle", flip(name(2), 9000), name(2), false},
		{"a bit of the seal", func(fs roomy) {
			flip(name(1), int(imageContent(t, fs, name(1)).end)-1)(fs)
		}, name(1), false},
		{"a bit of the newest segment", flip(name(newest), firstRecord+50), name(newest), false},
		{"a bit of a header", flip(name(2), 30), name(2), false},
		{"a segment that is cut", func(fs roomy) {
			put(t, fs, name(3), contentOf(t, fs, name(3))[:9000])
		}, name(3), false},
		{"an empty segment", func(fs roomy) { put(t, fs, name(3), nil) }, name(3), false},
		{"zeros", func(fs roomy) {
			data := contentOf(t, fs, name(1))
			clear(data[8192:12288])
			put(t, fs, name(1), data)
		}, name(1), false},
		{"a segment under the name of another", move(name(1), name(2)), name(2), false},
		{"a segment of another log", func(fs roomy) {
			put(t, fs, name(2), contentOf(t, other, name(2)))
		}, name(2), false},
		{"a sector of another place", func(fs roomy) {
			data := contentOf(t, fs, name(2))
			copy(data[8192:12288], data[12288:16384])
			put(t, fs, name(2), data)
		}, name(2), false},
		{"no first segment", remove(name(0)), name(0), true},
		{"no segment in the middle", remove(name(2)), name(2), true},
		{"no newest segments", func(fs roomy) {
			for i := newest; i < len(numbers); i++ {
				remove(name(i))(fs)
			}
		}, name(newest), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			damaged := copyOf(t, fs)
			c.damage(damaged)
			before := copyOf(t, damaged)
			_, err := openCopy(t, damaged)
			var damage *DamageError
			if !errors.As(err, &damage) || damage.File != c.file || damage.Missing != c.missing {
				t.Fatalf("it opens with %v", err)
			}
			if !strings.Contains(err.Error(), Advice) || !strings.Contains(err.Error(), c.file) {
				t.Errorf("the error does not say what to do: %v", err)
			}
			report, err := Inspect(before, testDir, visitNone)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(report.Damage, func(err error) bool { return *err.(*DamageError) == *damage }) {
				t.Errorf("Inspect reports %v, Start %v", report.Damage, damage)
			}
		})
	}
	report, err := Inspect(fs, testDir, visitNone)
	if err != nil || len(report.Damage) != 0 {
		t.Errorf("Inspect reports of a log that is whole: %+v, %v", report, err)
	}
	if text, err := openCopy(t, copyOf(t, fs)); err != nil || text != want {
		t.Errorf("what is not damaged opens with %v", err)
	}
}

// TestALogThatEndsBeforeItsEndIsRefused truncates a closed log, by one more sector each time. The log itself does not
// show that something is missing; its end is known from elsewhere.
func TestALogThatEndsBeforeItsEndIsRefused(t *testing.T) {
	fs := newMemory()
	v := mustOpen(t, testOptions(memoryDisk(fs)))
	for i := range 40 {
		v.set(t, Key{1, uint64(i)}, textOfNumber(i, 2000))
	}
	if err := v.log.Close(); err != nil {
		t.Fatal(err)
	}
	end := v.log.End()
	name := segmentName(testDir, end.Segment)
	open := func(fs roomy, least End) error {
		options := testOptions(memoryDisk(fs))
		options.Least = least
		v, err := openValues(options)
		if err != nil {
			return err
		}
		if now := v.log.End(); now.Before(end) {
			t.Errorf("a log that ended at %v is opened at %v", end, now)
		}
		return v.log.Close()
	}
	whole := contentOf(t, fs, name)
	for from := direct.Down(end.Offset - 1); from >= firstRecord; from -= direct.Sector {
		cut := copyOf(t, fs)
		data := slices.Clone(whole)
		clear(data[from:])
		put(t, cut, name, data)
		var damage *DamageError
		if err := open(cut, end); !errors.As(err, &damage) || damage.File != name || damage.Offset > end.Offset {
			t.Fatalf("with zeros from byte %d on, of %d, it opens with %v", from, end.Offset, err)
		}
	}
	if err := open(copyOf(t, fs), End{Segment: end.Segment + 1, Offset: firstRecord}); !errors.Is(err, ErrDamaged) {
		t.Errorf("without the segment in which it ended it opens with %v", err)
	}
	if err := open(copyOf(t, fs), end); err != nil {
		t.Errorf("whole, it opens with %v", err)
	}
}

// imageContent is a segment's readable content.
func imageContent(t *testing.T, fs vfs.FS, name string) content {
	t.Helper()
	data := contentOf(t, fs, name)
	h, ok := headerOf(data)
	if !ok {
		t.Fatalf("%s has no header", name)
	}
	c, err := (&image{header: h, path: name, seed: h.seed(), data: data}).read(visitNone)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func visitNone(Place, Key, Kind, []byte) error { return nil }

// TestATornTailIsCut: data not yet durable may be torn, and later data is never read.
func TestATornTailIsCut(t *testing.T) {
	fs := newMemory()
	v := mustOpen(t, testOptions(memoryDisk(fs)))
	first := v.set(t, Key{1, 1}, "safe")
	// The next record begins at a sector boundary, so its replacement does not overwrite it.
	length := 2*direct.Sector - int(first.end())%direct.Sector - headBytes
	torn, err := v.change(Key{1, 2}, kindSet, strings.Repeat("t", length))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.change(Key{1, 3}, kindSet, strings.Repeat("after", 2000)); err != nil {
		t.Fatal(err)
	}
	last, err := v.change(Key{1, 4}, kindSet, "last")
	if err != nil || v.log.Sync(last) != nil {
		t.Fatal(err)
	}
	name := segmentName(testDir, 1)
	killed := copyOf(t, fs)
	data := contentOf(t, killed, name)
	data[torn.Offset+headBytes] ^= 1
	put(t, killed, name, data)

	end := int64(0)
	report, err := Inspect(killed, testDir, func(at Place, _ Key, _ Kind, _ []byte) error {
		end = at.end()
		return nil
	})
	if err != nil || len(report.Damage) != 0 || end != int64(torn.Offset) {
		t.Errorf("Inspect reports %+v, %v", report, err)
	}
	options := testOptions(memoryDisk(killed))
	v = mustOpen(t, options)
	if len(v.texts) != 1 || v.texts[Key{1, 1}] != "safe" {
		t.Fatalf("it has %v", v)
	}
	again := v.set(t, Key{1, 5}, strings.Repeat("a", length)) // as long as the torn one
	if again.Offset != torn.Offset || again.Bytes != torn.Bytes {
		t.Fatalf("the new record is at %v, the torn one was at %v", again, torn)
	}
	killed = copyOf(t, killed)
	v = mustOpen(t, testOptions(memoryDisk(killed)))
	if len(v.texts) != 2 || v.texts[Key{1, 5}] == "" {
		t.Errorf("it has %v", v)
	}
}

// TestAReusedSegmentIsReadOnlyAsWhatItIs: a segment's earlier records are invalid, even at a record's position.
func TestAReusedSegmentIsReadOnlyAsWhatItIs(t *testing.T) {
	h := header{log: 1, number: 3, first: 1, capacity: testSegment, filled: testSegment}
	data := make([]byte, testSegment)
	h.put(data)
	putRecord(data[firstRecord:], head{key: Key{1, 1}, kind: kindSet}, []byte("old"), firstRecord, h.seed())
	count := func(h header) int {
		h.put(data)
		m := &image{header: h, seed: h.seed(), data: data}
		c, err := m.read(visitNone)
		if err != nil {
			t.Fatal(err)
		}
		return c.records
	}
	if got := count(h); got != 1 {
		t.Fatalf("it has %d records", got)
	}
	for name, change := range map[string]func(*header){
		"of another number": func(h *header) { h.number = 9 },
		"of another log":    func(h *header) { h.log = 2 },
	} {
		changed := h
		if change(&changed); count(changed) != 0 {
			t.Errorf("a segment %s has the records of an earlier one", name)
		}
	}
	copy(data[firstRecord+align:], bytes.Clone(data[firstRecord:firstRecord+200]))
	clear(data[firstRecord : firstRecord+align])
	if _, _, ok := recordAt(data[firstRecord+align:], firstRecord+align, h.seed()); ok {
		t.Error("a record is valid where it was not written")
	}
}

func TestADirectoryThatHadALogMustHaveOne(t *testing.T) {
	fs := newMemory()
	options := testOptions(memoryDisk(fs))
	options.Existing = true
	_, err := openValues(options)
	var damage *DamageError
	if !errors.As(err, &damage) || !damage.Missing || damage.File != segmentName(testDir, 1) {
		t.Errorf("it opens with %v", err)
	}
}
