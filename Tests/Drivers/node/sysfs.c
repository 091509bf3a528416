/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of the tree: what sysfs tells of a PCI device with a render node, and /dev/dri. */
#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A place in the tree while it is written. */
struct writer {
    const char *root;
    bool failed; /* nothing is written any more */
};

static bool join(struct writer *writer, const char *path, char full[PATH_MAX])
{
    writer->failed = writer->failed || snprintf(full, PATH_MAX, "%s%s", writer->root, path) >= PATH_MAX;
    return !writer->failed;
}

/* Makes a folder and those above it. */
static void add_folder(struct writer *writer, const char *path)
{
    char full[PATH_MAX];

    if (!join(writer, path, full))
        return;
    for (char *slash = full + strlen(writer->root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(full, 0755);
        *slash = '/';
    }
    mkdir(full, 0755);
    writer->failed = access(full, F_OK) != 0;
}

static void add_bytes(struct writer *writer, const char *path, const void *bytes, size_t size)
{
    char full[PATH_MAX];

    if (!join(writer, path, full))
        return;
    int descriptor = open(full, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    writer->failed = descriptor < 0 || write(descriptor, bytes, size) != (ssize_t)size;
    if (descriptor >= 0)
        close(descriptor);
}

/* Adds a file of text to a folder of the tree. */
static void __attribute__((format(printf, 4, 5)))
add_text(struct writer *writer, const char *folder, const char *name, const char *format, ...)
{
    char path[PATH_MAX], text[512];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (length < 0 || length >= (int)sizeof text || snprintf(path, sizeof path, "%s/%s", folder, name) >= PATH_MAX)
        writer->failed = true;
    else
        add_bytes(writer, path, text, (size_t)length);
}

static void __attribute__((format(printf, 3, 4)))
add_link(struct writer *writer, const char *target, const char *format, ...)
{
    char path[PATH_MAX], full[PATH_MAX];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    writer->failed = writer->failed || length < 0 || length >= (int)sizeof path;
    if (join(writer, path, full))
        writer->failed = symlink(target, full) != 0;
}

/* Links to everything in a real folder that the tree has not of its own. */
static void add_links_to_the_rest(struct writer *writer, const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    char full[PATH_MAX], target[PATH_MAX];

    add_folder(writer, folder);
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        bool is_drm_device = strcmp(folder, "/sys/dev/char") == 0 && strncmp(entry->d_name, "226:", 4) == 0;

        if (entry->d_name[0] == '.' || is_drm_device ||
            snprintf(full, sizeof full, "%s%s/%s", writer->root, folder, entry->d_name) >= (int)sizeof full ||
            snprintf(target, sizeof target, "%s/%s", folder, entry->d_name) >= (int)sizeof target)
            continue;
        symlink(target, full);
    }
    if (entries != NULL)
        closedir(entries);
}

/* The names under which one node is found. */
struct names {
    char slot[16];    /* PCI address */
    char device[64];  /* its folder */
    char minor[16];   /* renderD128 */
    char node[128];   /* the folder of the minor */
};

static struct names names_of(const struct node_settings *node)
{
    unsigned place = node->number - FIRST_RENDER_NODE;
    struct names names;

    snprintf(names.slot, sizeof names.slot, "0000:00:%02x.%u", 2 + place % 30, place / 30);
    snprintf(names.device, sizeof names.device, "/sys/devices/pci0000:00/%s", names.slot);
    snprintf(names.minor, sizeof names.minor, "renderD%u", node->number);
    snprintf(names.node, sizeof names.node, "%s/drm/%s", names.device, names.minor);
    return names;
}

/* The first 64 bytes of PCI configuration space (PCI Local Bus 3.0, 6.1). */
static void add_configuration(struct writer *writer, const struct names *names, const struct chip *chip)
{
    uint8_t bytes[64] = {
        [0x00] = chip->vendor & 0xff, [0x01] = chip->vendor >> 8, [0x02] = chip->device & 0xff,
        [0x03] = chip->device >> 8,   [0x04] = 0x07,              [0x08] = chip->revision,
        [0x0b] = 0x03,                [0x2c] = chip->vendor & 0xff, [0x2d] = chip->vendor >> 8,
        [0x2e] = 0x01,
    };
    char path[128];

    snprintf(path, sizeof path, "%s/config", names->device);
    add_bytes(writer, path, bytes, sizeof bytes);
}

static void add_device(struct writer *writer, const struct names *names, const struct chip *chip)
{
    char target[128];

    add_folder(writer, names->device);
    add_text(writer, names->device, "vendor", "0x%04x\n", chip->vendor);
    add_text(writer, names->device, "device", "0x%04x\n", chip->device);
    add_text(writer, names->device, "revision", "0x%02x\n", chip->revision);
    add_text(writer, names->device, "subsystem_vendor", "0x%04x\n", chip->vendor);
    add_text(writer, names->device, "subsystem_device", "0x0001\n");
    add_text(writer, names->device, "class", "0x030000\n");
    add_text(writer, names->device, "numa_node", "-1\n");
    add_text(writer, names->device, "uevent",
             "DRIVER=%s\nPCI_CLASS=30000\nPCI_ID=%04X:%04X\nPCI_SUBSYS_ID=%04X:0001\nPCI_SLOT_NAME=%s\n"
             "MODALIAS=pci:v%08Xd%08Xsv%08Xsd00000001bc03sc00i00\n",
             chip->kernel_driver, chip->vendor, chip->device, chip->vendor, names->slot, chip->vendor, chip->device,
             chip->vendor);
    add_configuration(writer, names, chip);
    add_link(writer, "../../../bus/pci", "%s/subsystem", names->device);
    snprintf(target, sizeof target, "../../../bus/pci/drivers/%s", chip->kernel_driver);
    add_link(writer, target, "%s/driver", names->device);
    snprintf(target, sizeof target, "../../../devices/pci0000:00/%s", names->slot);
    add_link(writer, target, "/sys/bus/pci/devices/%s", names->slot);
}

static void add_driver(struct writer *writer, const struct names *names, const struct chip *chip)
{
    char target[128];

    snprintf(target, sizeof target, "/sys/bus/pci/drivers/%s", chip->kernel_driver);
    add_folder(writer, target);
    snprintf(target, sizeof target, "../../../../devices/pci0000:00/%s", names->slot);
    add_link(writer, target, "/sys/bus/pci/drivers/%s/%s", chip->kernel_driver, names->slot);
}

static void add_minor(struct writer *writer, const struct names *names, unsigned number)
{
    char target[160];

    add_folder(writer, names->node);
    add_text(writer, names->node, "dev", "226:%u\n", number);
    add_text(writer, names->node, "uevent", "MAJOR=226\nMINOR=%u\nDEVNAME=dri/%s\nDEVTYPE=drm_minor\n", number,
             names->minor);
    snprintf(target, sizeof target, "../../../%s", names->slot);
    add_link(writer, target, "%s/device", names->node);
    add_link(writer, "../../../../../class/drm", "%s/subsystem", names->node);
    snprintf(target, sizeof target, "../../devices/pci0000:00/%s/drm/%s", names->slot, names->minor);
    add_link(writer, target, "/sys/class/drm/%s", names->minor);
    snprintf(target, sizeof target, "../../devices/pci0000:00/%s/drm/%s", names->slot, names->minor);
    add_link(writer, target, "/sys/dev/char/226:%u", number);
}

static void add_device_file(struct writer *writer, const struct names *names)
{
    char path[64], target[64];

    snprintf(path, sizeof path, "/dev/dri/%s", names->minor);
    add_bytes(writer, path, "", 0);
    snprintf(target, sizeof target, "../%s", names->minor);
    add_link(writer, target, "/dev/dri/by-path/pci-%s-render", names->slot);
}

bool tree_write(const char *root, const struct settings *settings)
{
    static const char *const folders[] = {
        "/dev/dri/by-path", "/sys/class/drm", "/sys/bus/pci/devices", "/sys/bus/pci/drivers",
        "/sys/devices/pci0000:00", "/sys/dev/char",
    };
    static const char *const shared_folders[] = {
        "/sys", "/sys/class", "/sys/bus", "/sys/devices", "/sys/dev", "/sys/dev/char",
    };
    struct writer writer = {.root = root};

    for (size_t index = 0; index < sizeof folders / sizeof folders[0]; index++)
        add_folder(&writer, folders[index]);
    add_text(&writer, "/sys/class/drm", "version", "drm 1.1.0 20060810\n");
    add_text(&writer, "/sys/devices/pci0000:00", "uevent", "%s", "");
    for (unsigned index = 0; index < settings->node_count; index++) {
        const struct node_settings *node = &settings->nodes[index];
        struct names names = names_of(node);

        add_device(&writer, &names, node->chip);
        add_driver(&writer, &names, node->chip);
        add_minor(&writer, &names, node->number);
        add_device_file(&writer, &names);
    }
    for (size_t index = 0; index < sizeof shared_folders / sizeof shared_folders[0]; index++)
        add_links_to_the_rest(&writer, shared_folders[index]);
    return !writer.failed;
}
