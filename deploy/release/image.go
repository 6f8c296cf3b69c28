package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
)

// Media types in the OCI image specification.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob in the layout.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *ociPlatform      `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// ociPlatform selects an image in an index: container runtimes pull the image for their own processor and system.
type ociPlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// manifest describes an image by config and layers, or an image index by manifests. Both forms in the specification
// share their first fields.
type manifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        *descriptor       `json:"config,omitempty"`
	Layers        []descriptor      `json:"layers,omitempty"`
	Manifests     []descriptor      `json:"manifests,omitempty"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

// layout is an OCI image layout under construction. Blobs are named by checksum, so every blob is added once.
type layout struct{ items []item }

// add puts a blob into the layout.
func (l *layout) add(mediaType string, content []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(content))
	l.items = append(l.items, item{path: path.Join("blobs", "sha256", sum), mode: 0o644, content: content})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(content)}
}

// addJSON encodes a value and adds the blob.
func (l *layout) addJSON(mediaType string, value any) (descriptor, error) {
	content, err := json.Marshal(value)
	return l.add(mediaType, content), err
}

// image writes a product's image: a layout in an uncompressed archive, readable by podman, skopeo and containerd. The
// archive's index names a single image by version. This name refers to an index over all processor types, so copying to
// a registry includes all processor types.
func (j *job) image(p *product, builds []build) error {
	stage, err := j.readDockerfile(p.dockerfile)
	if err != nil {
		return err
	}
	labels := map[string]string{
		"org.opencontainers.image.title": p.name, "org.opencontainers.image.description": p.summary,
		"org.opencontainers.image.version": j.version.number, "org.opencontainers.image.revision": j.version.commit,
		"org.opencontainers.image.created": j.version.stamp(), "org.opencontainers.image.licenses": licence,
		"org.opencontainers.image.source": homepage,
	}
	stage.config.Labels = labels
	var l layout
	all := manifest{SchemaVersion: 2, MediaType: typeIndex, Annotations: labels}
	for _, b := range builds {
		if b.os != "linux" {
			continue
		}
		one, err := j.platformImage(&l, stage, p, &b)
		if err != nil {
			return err
		}
		one.Platform = &ociPlatform{b.arch, b.os}
		all.Manifests = append(all.Manifests, one)
	}
	index, err := l.addJSON(typeIndex, all)
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{"org.opencontainers.image.ref.name": j.version.number}
	entry, err := json.Marshal(manifest{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{index}})
	if err != nil {
		return err
	}
	l.items = append(l.items, item{path: "index.json", mode: 0o644, content: entry},
		item{path: "oci-layout", mode: 0o644, content: []byte(`{"imageLayoutVersion":"1.0.0"}`)})
	text, err := tarOf(l.items, j.version.date)
	if err != nil {
		return err
	}
	return j.write(fmt.Sprintf("%s_%s_image.tar", p.name, j.version.number), text)
}

// platformImage adds the image for a processor, with a single layer: the program, the licences, and the empty folders
// for data, owned by the user of the image.
func (j *job) platformImage(l *layout, stage *dockerStage, p *product, b *build) (descriptor, error) {
	list := []item{{path: docs(p.name, "third-party-licences.txt"), mode: 0o644, content: b.shared.licences}}
	for _, i := range stage.copies {
		if !i.mode.IsDir() {
			i.content = b.binary
		}
		list = append(list, i)
	}
	plain, err := tarOf(list, j.version.date)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := compress(plain)
	if err != nil {
		return descriptor{}, err
	}
	config, err := l.addJSON(typeConfig, map[string]any{
		"created": j.version.stamp(), "architecture": b.arch, "os": b.os, "config": stage.config,
		"rootfs": map[string]any{
			"type": "layers", "diff_ids": []string{fmt.Sprintf("sha256:%x", sha256.Sum256(plain))},
		},
		"history": []any{map[string]string{"created": j.version.stamp(), "created_by": "make release"}},
	})
	if err != nil {
		return descriptor{}, err
	}
	layer := l.add(typeLayer, packed)
	return l.addJSON(typeManifest, manifest{SchemaVersion: 2, MediaType: typeManifest, Config: &config,
		Layers: []descriptor{layer}})
}
