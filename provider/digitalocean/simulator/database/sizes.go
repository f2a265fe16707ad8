package database

import (
	"regexp"
	"strconv"

	"github.com/better-compute/cloud-resources/provider/digitalocean/simulator/core"
)

var memoryOf = regexp.MustCompile(`-(\d+)gb`)

// gigabytes is the memory that a size slug names, in GB.
func gigabytes(size string) int {
	match := memoryOf.FindStringSubmatch(size)
	if match == nil {
		return 1
	}
	n, err := strconv.Atoi(match[1])
	if err != nil {
		return 1
	}
	return n
}

// baseGiB is the storage that comes with a size, in GiB by its memory in GB.
var baseGiB = map[int]int{1: 10, 2: 30, 4: 60, 8: 115, 16: 270, 32: 580, 64: 1120}

// baseStorage is the storage that comes with a size, in MiB.
func baseStorage(size string) int {
	memory := gigabytes(size)
	if gib, ok := baseGiB[memory]; ok {
		return gib * 1024
	}
	return memory * 18 * 1024
}

// maxStorage is the most storage that a size may have, in MiB.
func maxStorage(size string) int { return 10 * baseStorage(size) }

// checkStorage checks a storage that was asked for, in MiB, against the size.
func checkStorage(size string, mib int) error {
	if mib < baseStorage(size) || mib > maxStorage(size) {
		return core.Unprocessable("invalid storage_size_mib: %d is outside of the range %d to %d of size %s",
			mib, baseStorage(size), maxStorage(size), size)
	}
	return nil
}
