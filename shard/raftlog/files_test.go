package raftlog

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lni/vfs"
)

const testLimit = 2 << 20

// filesIn returns the file system of a store in a directory of its own, and what names a file there.
func filesIn(t *testing.T) (*files, func(name string) string) {
	dir := t.TempDir() // goes when nothing is made in it any more
	f := newFiles(testLimit, nil)
	t.Cleanup(f.close)
	return f, func(name string) string { return filepath.Join(dir, name) }
}

// write fills a file and waits until what that brings about is done.
func write(t *testing.T, f *files, file vfs.File, size int) {
	t.Helper()
	if _, err := file.Write(bytes.Repeat([]byte("x"), size)); err != nil {
		t.Fatal(err)
	}
	f.making.Wait()
}

func create(t *testing.T, f *files, name string) vfs.File {
	t.Helper()
	file, err := f.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func sizeOf(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if os.IsNotExist(err) {
		return -1
	}
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func TestANewLogFileIsAPreparedOneOnceThereIsSomethingToDo(t *testing.T) {
	f, path := filesIn(t)
	first := create(t, f, path("000002.log"))
	write(t, f, first, preparedAfter-1)
	if size := sizeOf(t, path(preparedName)); size != -1 {
		t.Errorf("a store that has written little has a prepared file of %d bytes", size)
	}
	write(t, f, first, 1)
	if size := sizeOf(t, path(preparedName)); size < preparedAfter {
		t.Fatalf("the prepared file has %d bytes", size)
	}
	create(t, f, path("000003.log"))
	content, err := os.ReadFile(path("000003.log"))
	if err != nil {
		t.Fatal(err)
	}
	if len(content) < preparedAfter || len(bytes.Trim(content, "\x00")) != 0 {
		t.Errorf("the new log file has %d bytes, %d of them not zero", len(content), len(bytes.Trim(content, "\x00")))
	}
	if size := sizeOf(t, path(preparedName)); size != -1 {
		t.Errorf("the prepared file is still there, with %d bytes", size)
	}
}

func TestTheFirstLogFileIsPreparedToo(t *testing.T) {
	f, path := filesIn(t)
	create(t, f, path("000002.log"))
	if size := sizeOf(t, path("000002.log")); size != preparedLeast {
		t.Errorf("it has %d bytes, want %d", size, preparedLeast)
	}
}

func TestAPreparedFileGrowsWithTheLogFilesUpToTheLimit(t *testing.T) {
	f, path := filesIn(t)
	for i, want := range []int64{preparedLeast, testLimit} {
		file := create(t, f, path(fmt.Sprintf("%06d.log", i)))
		write(t, f, file, preparedLeast)
		if size := sizeOf(t, path(preparedName)); size != want {
			t.Errorf("after file %d: %d bytes are prepared, want %d", i, size, want)
		}
		file.Close()
	}
}

func TestOtherFilesAreLeftAlone(t *testing.T) {
	f, path := filesIn(t)
	write(t, f, create(t, f, path("000002.log")), preparedAfter)
	create(t, f, path("000004.sst"))
	if size := sizeOf(t, path("000004.sst")); size != 0 {
		t.Errorf("a table begins with %d bytes", size)
	}
}

func TestAnOldLogFileIsUsedAgainIfItNeedNotGrow(t *testing.T) {
	f, path := filesIn(t)
	small := create(t, f, path("000002.log"))
	write(t, f, small, preparedLeast)
	small.Close()
	file, err := f.ReuseForWrite(path("000002.log"), path("000003.log"))
	if err != nil {
		t.Fatal(err)
	}
	if sizeOf(t, path("000002.log")) != -1 || sizeOf(t, path(preparedName)) != -1 {
		t.Error("the old file was kept, or the prepared one not used")
	}
	write(t, f, file, testLimit)
	file.Close()
	again, err := f.ReuseForWrite(path("000003.log"), path("000004.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if content, _ := os.ReadFile(path("000004.log")); !bytes.HasPrefix(content, []byte("xx")) {
		t.Error("a file of full size was not used again")
	}
}

func TestALogFileOfFullSizeThatIsRemovedIsPrepared(t *testing.T) {
	f, path := filesIn(t)
	for _, name := range []string{"000002.log", "000003.log", "000004.log"} {
		size := int64(testLimit)
		if name == "000002.log" {
			size--
		}
		if err := os.WriteFile(path(name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []int64{-1, testLimit, testLimit} {
		name := path(fmt.Sprintf("%06d.log", i+2))
		if err := f.Remove(name); err != nil {
			t.Fatal(err)
		}
		if sizeOf(t, name) != -1 || sizeOf(t, path(preparedName)) != want {
			t.Errorf("%s: it is still there, or %d bytes are prepared, want %d", name, sizeOf(t, path(preparedName)),
				want)
		}
	}
}

// narrow is a disk without much room.
type narrow struct{ vfs.FS }

func (narrow) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: preparedReserve*preparedAfter - 1}, nil
}

func TestNothingIsPreparedWhereThereIsLittleRoom(t *testing.T) {
	f, path := filesIn(t)
	f.FS = narrow{f.FS}
	write(t, f, create(t, f, path("000002.log")), preparedAfter)
	if size := sizeOf(t, path(preparedName)); size != -1 {
		t.Errorf("%d bytes are prepared", size)
	}
}

func TestClosingGivesUpWhatIsBeingPrepared(t *testing.T) {
	f := newFiles(testLimit, nil)
	dir := t.TempDir()
	file := create(t, f, filepath.Join(dir, "000002.log"))
	if _, err := file.Write(make([]byte, preparedAfter)); err != nil {
		t.Fatal(err)
	}
	f.close()
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

func TestSyncsAreTimed(t *testing.T) {
	var times []time.Duration
	f := newFiles(testLimit, func(d time.Duration) { times = append(times, d) })
	defer f.close()
	file := create(t, f, filepath.Join(t.TempDir(), "000002.log"))
	for range 3 {
		write(t, f, file, 100)
		if err := file.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if len(times) != 3 || times[0] <= 0 {
		t.Errorf("the syncs took %v", times)
	}
}
