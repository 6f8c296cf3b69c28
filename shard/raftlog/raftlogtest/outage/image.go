package outage

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/lni/vfs"
)

// Draw selects the pending changes on an image.
type Draw struct {
	files, directories how
	sector             int
	random             *rand.Rand
}

// how selects a file's or directory's pending changes for an image.
type how int

const (
	nothing how = iota
	everything
	beginning // the first changes, and a piece of the next change
	anything
)

// Extremes are the draws without chance.
var Extremes = []Draw{
	{files: nothing, directories: nothing},
	{files: nothing, directories: everything},
	{files: everything, directories: nothing},
	{files: everything, directories: everything},
}

// RandomDraw selects changes at random.
func RandomDraw(random *rand.Rand) Draw {
	return Draw{
		files:       []how{nothing, everything, beginning, anything, anything}[random.IntN(5)],
		directories: []how{nothing, everything, beginning}[random.IntN(3)],
		sector:      []int{512, 4096}[random.IntN(2)], random: random,
	}
}

// Image returns a possible disk after a power failure: a disk without pending changes. The image shares content with
// the disk: use it before the disk's next change.
func (d *Disk) Image(draw Draw) *Disk {
	image := &Disk{nodes: make([]*node, len(d.nodes))}
	d.draw(image, 0, draw)
	for i, n := range image.nodes {
		if n == nil {
			image.nodes[i] = &node{} // the file has no name
		}
	}
	return image
}

func (d *Disk) draw(image *Disk, number int, draw Draw) {
	n := d.nodes[number].image(draw)
	image.nodes[number] = n
	for _, name := range slices.Sorted(maps.Keys(n.names)) {
		if child := n.names[name]; image.nodes[child] == nil {
			d.draw(image, child, draw)
		}
	}
}

// Draws returns the maximum number of different images from extremes: one for a disk without pending changes.
func (d *Disk) Draws() int {
	if d.pending() == 0 {
		return 1
	}
	return len(Extremes)
}

func (n *node) image(draw Draw) *node {
	if n.directory {
		m := newDirectory()
		maps.Copy(m.names, n.names)
		for _, r := range n.renames[:draw.some(draw.directories, len(n.renames))] {
			r.apply(m.names)
		}
		return m
	}
	m := &node{content: n.content}
	if draw.files == nothing || len(n.writes) == 0 {
		return m
	}
	m.content = slices.Clone(n.content)
	whole := draw.some(draw.files, len(n.writes))
	for _, w := range n.writes[:whole] {
		m.content = w.apply(m.content)
	}
	torn := n.writes[whole:]
	switch draw.files {
	case beginning:
		torn = torn[:min(1, len(torn))]
	case anything:
	default:
		torn = nil
	}
	for _, w := range torn {
		m.content = draw.tear(w, m.content)
	}
	return m
}

// some returns how many changes, from the first, are on the image.
func (draw Draw) some(h how, changes int) int {
	switch h {
	case everything:
		return changes
	case beginning:
		return draw.random.IntN(changes + 1)
	default:
		return 0
	}
}

// tear applies some of a write's sectors.
func (draw Draw) tear(w write, content []byte) []byte {
	if w.cut {
		if draw.random.IntN(2) == 0 {
			return w.apply(content)
		}
		return content
	}
	if draw.random.IntN(4) == 0 {
		content = resize(content, max(len(content), int(w.at)+len(w.data)))
	}
	likely := draw.random.IntN(11)
	for from := 0; from < len(w.data); {
		end := min(len(w.data), draw.sector-int(w.at+int64(from))%draw.sector+from)
		if draw.random.IntN(10) < likely {
			content = write{at: w.at + int64(from), data: w.data[from:end]}.apply(content)
		}
		from = end
	}
	return content
}

// latest returns a directory's names after all pending changes, nil for a file.
func (n *node) latest() map[string]int {
	if !n.directory {
		return nil
	}
	names := maps.Clone(n.names)
	for _, r := range n.renames {
		r.apply(names)
	}
	return names
}

// Put copies the files below a disk directory, with all pending changes, into a directory on another file system.
func (d *Disk) Put(from string, fs vfs.FS, to string) error {
	n, ok := treeOf(d).find(from)
	if !ok {
		return nil
	}
	return d.put(n, fs, to)
}

func (d *Disk) put(number int, fs vfs.FS, to string) error {
	n := d.nodes[number]
	if !n.directory {
		file, err := fs.Create(to)
		if err != nil {
			return err
		}
		content := slices.Clone(n.content)
		for _, w := range n.writes {
			content = w.apply(content)
		}
		if _, err := file.Write(content); err != nil {
			return err
		}
		return file.Close()
	}
	if err := fs.MkdirAll(to, 0o750); err != nil {
		return err
	}
	for name, child := range n.latest() {
		if err := d.put(child, fs, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}
